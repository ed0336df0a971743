exports.heading = (text) => `<h1>${text}</h1>`;
exports.fruit = ['apple', 'pear'];
