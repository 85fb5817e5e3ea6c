// Brings in what has changed on the server, and opens dialogs. Pages are whole without it.
'use strict';
(() => {
  const STEADY = 10; // answers in a row without news, after which it asks less often
  const SLOWEST = 5; // times as seldom
  const MOST_WAIT_MS = 30000; // between tries while the server does not answer
  const lost = document.getElementById('lost');
  const told = document.getElementById('told');

  function say(message) {
    if (lost.textContent !== message) lost.textContent = message; // said once, not at each try
  }

  // Whether there was anything new.
  async function bring(part) {
    const headers = { 'X-Live': '1', 'If-None-Match': part.tag || '' };
    const answer = await fetch(part.dataset.live, { headers, redirect: 'error' });
    if (answer.status === 401) location.reload(); // to the sign-in, which comes back to this page
    if (answer.status === 304 || answer.status === 401) return false;
    if (answer.status === 404) throw new Error('This is gone, or its name was never known here.');
    if (answer.status === 429) throw new Error('Too many requests; going on in a moment.');
    if (!answer.ok) throw new Error('The server has trouble; trying again.');
    put(part, await answer.text());
    part.tag = answer.headers.get('ETag');
    return true;
  }

  // The server's own markup, escaped there. What stays the same is not touched: neither what is
  // marked, nor where somebody stands, nor what is unfolded.
  function put(part, text) {
    const at = part.contains(document.activeElement) ? document.activeElement.id : '';
    const fresh = part.cloneNode(false);
    fresh.innerHTML = text.trim();
    blend(part, fresh);
    if (at && document.activeElement?.id !== at) document.getElementById(at)?.focus({ preventScroll: true });
    const state = part.querySelector('[data-state]')?.dataset.state;
    if (state && part.state && state !== part.state) told.textContent = state;
    part.state = state;
  }

  function blend(old, fresh) {
    if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
    const wanted = [...fresh.childNodes];
    while (old.childNodes.length > wanted.length) old.lastChild.remove();
    wanted.forEach((child, number) => {
      const there = old.childNodes[number];
      if (!there) old.append(child);
      else if (there.nodeName === child.nodeName && there.id === child.id) blend(there, child);
      else there.replaceWith(child);
    });
  }

  function follow(part) {
    // As it is brought in: the page has line ends around it.
    for (const edge of [part.firstChild, part.lastChild]) if (edge?.data?.trim() === '') edge.remove();
    const every = Number(part.dataset.every);
    let [steady, failed, timer, asking] = [0, 0, 0, false];
    const turn = async () => {
      clearTimeout(timer);
      if (document.hidden || asking) return; // hidden: until it is looked at again
      asking = true;
      try {
        steady = (await bring(part)) ? 0 : steady + 1;
        if (failed) say('');
        failed = 0;
      } catch (error) {
        failed += 1;
        say(error instanceof TypeError ? 'The server does not answer; trying again.' : error.message);
      }
      asking = false;
      const slower = Math.min(SLOWEST, Math.max(1, steady - STEADY));
      timer = setTimeout(turn, failed ? Math.min(MOST_WAIT_MS, every * 2 ** failed) : every * slower);
    };
    document.addEventListener('visibilitychange', () => {
      steady = 0;
      turn();
    });
    timer = setTimeout(turn, 'empty' in part.dataset ? 0 : every);
  }
  document.querySelectorAll('[data-live]').forEach(follow);

  document.addEventListener('click', (event) => {
    const opener = event.target.closest('[data-open]');
    if (opener) document.getElementById(opener.dataset.open)?.showModal();
    if (event.target.closest('[data-close]')) event.target.closest('dialog').close();
  });

  // A page that the browser kept for its back button may show what has changed since.
  addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
})();
