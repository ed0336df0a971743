/** What is shown in place of a secret. */
export const mask = '••••••';

const secretName =
  /pass(word|wd|phrase|code)|(^|[_-])(pass|pwd|key)($|[_-])|secret|token|credential|(api|access|private|signing|encryption|license)[_-]?key/i;

/** People forget to mark secrets more often than they misname them. */
export const looksSecret = (name: string): boolean => secretName.test(name);
