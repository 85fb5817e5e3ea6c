"""The door of every command: what no command can take, and what interrupts the imports."""

import sys

import pytest

from jobs.cli import main, submit


@pytest.mark.parametrize("command", ["serve", "plan", "keys", "schedule", "nothing"])
def test_an_argument_that_is_not_utf_8_is_one_line(monkeypatch, capsys, command):
    monkeypatch.setattr(sys, "argv", ["zeroshift", command, "--host", "caf\udce9"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: argument 3, 'caf\\udce9': not UTF-8 text\n"


def test_submit_job_has_the_same_door(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["submit-job", "caf\udce9.json"])
    with pytest.raises(SystemExit) as ended:
        submit.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: argument 1, 'caf\\udce9.json': not UTF-8 text\n"


def _in_a_class():
    """Ctrl-C while a class is made, which Python 3.11 turns into an error of its own."""
    raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()


def _plainly():
    raise KeyboardInterrupt


@pytest.mark.parametrize("load", [_in_a_class, _plainly])
@pytest.mark.parametrize("command", ["serve", "keys"])
def test_ctrl_c_while_loading_is_one_line(monkeypatch, capsys, command, load):
    monkeypatch.setattr(sys, "argv", ["zeroshift", command])
    monkeypatch.setattr(main, "import_module", lambda name: load())
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_another_error_of_the_imports_is_not_taken_for_ctrl_c(monkeypatch):
    def broken(name):
        raise RuntimeError("a bug")

    monkeypatch.setattr(sys, "argv", ["zeroshift", "keys"])
    monkeypatch.setattr(main, "import_module", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        main.main()
