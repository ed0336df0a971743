import { EphError } from '@eph/contract';

/** Puts variables in for `{name}`. A name the template may not use is refused with the ones it may. */
export const renderTemplate = (template: string, variables: { readonly [name: string]: string }): string =>
  template.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value !== undefined) return value;
    const allowed = Object.keys(variables).map((one) => `{${one}}`);
    throw new EphError(
      'spec.invalid',
      `template ${JSON.stringify(template)}: {${name}} is unknown; allowed: ${allowed.join(', ')}`,
    );
  });
