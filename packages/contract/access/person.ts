import { z } from 'zod';
import { EphError } from '../errors.ts';

/** Somebody, or a machine, as the issuer of their account knows them. Names and addresses can pass to somebody else; these do not. */
export interface Person {
  readonly issuer: string;
  readonly subject: string;
}

/** Control characters. Not `\p{Cc}`: the OpenAPI document shows the pattern, and not every language has that. */
const controls = String.raw`\x00-\x1f\x7f-\x9f`;

/** The issuer has no `#`, so the first one ends it. */
const form = new RegExp(String.raw`^([^\s#${controls}]+)#([^\s${controls}](?:[^${controls}]*[^\s${controls}])?)$`, 'u');

/** `<issuer>#<subject>`, as files and tokens write a person. */
export const personText = z.string().max(600).regex(form, 'must be <issuer>#<subject>, such as https://id.example.com#4711');

/** Throws for an issuer that would make two people the same text. */
export const printPerson = ({ issuer, subject }: Person): string => {
  if (issuer.includes('#')) throw new EphError('api.bad_request', `${JSON.stringify(issuer)} is not an issuer: it contains a #`);
  return `${issuer}#${subject}`;
};

/** Undefined where the text is not one that `printPerson` makes. */
export const parsePerson = (text: string): Person | undefined => {
  const [, issuer, subject] = form.exec(text) ?? [];
  return issuer === undefined || subject === undefined || text.length > 600 ? undefined : { issuer, subject };
};
