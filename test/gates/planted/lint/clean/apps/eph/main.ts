console.log('eph');
process.exit(0);
