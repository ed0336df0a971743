export default 'process';
