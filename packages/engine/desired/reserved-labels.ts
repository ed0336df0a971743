/** People and programs expect something else than an environment behind these labels. */
export const reservedLabels: ReadonlySet<string> = new Set(
  (
    'account accounts admin api app apps assets auth autoconfig autodiscover billing cdn console dashboard dns docs eph ephd ' +
    'ftp gateway git help hooks id imap localhost login logout mail metrics mta-sts mx ns ns1 ns2 oauth pop portal proxy registry ' +
    'root secure smtp sso static status support system vpn webhooks wpad www'
  ).split(' '),
);
