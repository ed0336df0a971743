console.log('waiting for jobs');
setInterval(() => console.log('no jobs'), 60_000);
