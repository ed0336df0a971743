const fruit = await (await fetch('/api/fruit')).json();
document
  .querySelector('#fruit')
  .replaceChildren(...fruit.map((name) => Object.assign(document.createElement('li'), { textContent: name })));
