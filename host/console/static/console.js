// What happens while a page is open. Without this script a page shows what there was when it was loaded.
'use strict';

(() => {
  const rows = document.querySelector('[data-stream]');
  const status = document.querySelector('[data-status]');
  const pause = document.querySelector('[data-pause]');
  const count = document.querySelector('[data-waiting]');
  const asked = document.querySelector('[data-approvals]');
  if (!count) return; // nobody is logged in

  const most = 200, drawEvery = 250, sayEvery = 5000;
  let batches = [], unsaid = 0, paused = false, drawing = false, known = null;

  // Calls come faster than anybody reads: they are drawn a few times a second, and rows that scroll away are dropped.
  const draw = () => {
    drawing = false;
    if (paused) return;
    const html = batches.reverse().join('');
    batches = [];
    const fresh = document.createElement('template');
    fresh.innerHTML = html; // rows that the server has escaped
    const all = [...fresh.content.querySelectorAll('tr')].slice(0, most);
    rows.prepend(...all);
    while (rows.rows.length > most) rows.lastElementChild.remove();
  };

  const say = () => {
    if (!status || !unsaid || paused) return;
    status.textContent = `${unsaid} new ${unsaid === 1 ? 'call' : 'calls'}.`;
    unsaid = 0;
  };

  const calls = (event) => {
    const told = JSON.parse(event.data);
    batches.push(told.rows);
    if (batches.length > most) batches.shift(); // while it is paused
    unsaid += told.count;
    if (!drawing) {
      drawing = true;
      setTimeout(draw, drawEvery);
    }
  };

  // The list of calls that wait is loaded again, unless somebody is at it: a button of another call would come to be
  // below the mouse in the moment of the click.
  const atIt = () => asked.contains(document.activeElement) || asked.matches(':hover') && asked.querySelector('button');
  let stale = false;
  const refresh = async () => {
    const page = new DOMParser().parseFromString(await (await fetch('approvals')).text(), 'text/html');
    const next = page.querySelector('[data-approvals]');
    if (!next) return;
    const changed = document.querySelector('[data-changed]');
    stale = atIt();
    if (stale) {
      changed.textContent = 'The list has changed; reload the page to see it.';
      return;
    }
    asked.replaceChildren(...next.childNodes);
    changed.textContent = 'The list has changed.';
  };
  if (asked) asked.addEventListener('pointerleave', () => stale && refresh());

  const approvals = (event) => {
    const told = JSON.parse(event.data);
    count.textContent = told.count || '';
    document.title = document.title.replace(/^\(\d+\) /, '').replace(/^/, told.count ? `(${told.count}) ` : '');
    if (asked && known !== null && known !== told.ids) refresh();
    if (known === null && asked && told.count !== asked.querySelectorAll('article').length) refresh();
    known = told.ids;
  };

  const source = new EventSource(rows ? rows.dataset.stream : 'stream?agent=-');
  source.addEventListener('calls', calls);
  source.addEventListener('approvals', approvals);
  source.onopen = () => document.documentElement.setAttribute('data-live', '');
  if (rows) setInterval(say, sayEvery);
  if (rows && pause) {
    pause.hidden = false;
    pause.addEventListener('click', () => {
      paused = !paused;
      pause.textContent = paused ? 'Resume' : 'Pause';
      if (!paused) draw();
    });
  }
})();
