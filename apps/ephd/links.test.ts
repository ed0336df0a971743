import { environmentId, projectId } from '@eph/contract';
import { createView } from '@eph/engine/report/view.fake';
import { describe, expect, it } from 'vitest';
import { faultOfLink, fillLink } from './links.ts';

const report = { environment: environmentId('0123456789abcdef'), project: projectId('shop'), view: createView() };

describe('a link to more about an environment', () => {
  it('is filled with what the environment is called', () => {
    expect(fillLink('https://logs.example/?q={project}/{name}&id={id}', report)).toBe(
      'https://logs.example/?q=shop/shop-calm-bay-1234&id=0123456789abcdef',
    );
  });

  it.each([
    ['https://logs.example/{name}', undefined],
    ['http://{project}.logs.example', undefined],
    ['https://logs.example/{namee}', '{namee} is not a placeholder; use {id}, {name}, {project}'],
    ['logs.example/{name}', 'must be an address that begins with http:// or https://'],
    ['javascript:alert(1)', 'must be an address that begins with http:// or https://'],
    ['https://', 'must be an address that begins with http:// or https://'],
  ])('%s', (template, fault) => {
    expect(faultOfLink(template)).toBe(fault);
  });
});
