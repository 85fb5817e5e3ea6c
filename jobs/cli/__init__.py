"""The command line: `zeroshift` and `submit-job`. Each module is one concern of it."""
