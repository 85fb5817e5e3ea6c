// Brings in what has changed on the server, and opens dialogs. Pages are whole without it.
'use strict';
(() => {
  const lost = document.getElementById('lost');
  const shown = new Map(); // part -> the markup that it was last given

  async function bring(part) {
    const answer = await fetch(part.dataset.live, { headers: { 'X-Live': '1' }, redirect: 'error' });
    if (answer.status === 401) {
      location.reload();
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const text = await answer.text();
    if (text !== shown.get(part)) put(part, text);
    shown.set(part, text);
  }

  // The server's own markup, escaped there. Whoever stands on something of it stays there.
  function put(part, text) {
    const at = part.contains(document.activeElement) ? document.activeElement.id : '';
    const opened = [...part.querySelectorAll('.scroll')].map((each) => each.scrollLeft);
    part.innerHTML = text;
    part.querySelectorAll('.scroll').forEach((each, number) => { each.scrollLeft = opened[number] || 0; });
    if (at) document.getElementById(at)?.focus({ preventScroll: true });
  }

  function follow(part) {
    const every = Number(part.dataset.every);
    const turn = async () => {
      if (!document.hidden) {
        try {
          await bring(part);
          lost.hidden = true;
        } catch {
          lost.textContent = 'The server does not answer; trying again.';
          lost.hidden = false;
        }
      }
      setTimeout(turn, every);
    };
    setTimeout(turn, part.children.length > 1 ? every : 0);
  }
  document.querySelectorAll('[data-live]').forEach(follow);

  document.addEventListener('click', (event) => {
    const opener = event.target.closest('[data-open]');
    if (opener) document.getElementById(opener.dataset.open)?.showModal();
    if (event.target.closest('[data-close]')) event.target.closest('dialog').close();
  });
})();
