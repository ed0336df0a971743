import { EphError, type ErrorCode } from '@eph/contract';

const codes = {
  400: 'api.bad_request',
  401: 'api.forbidden',
  404: 'api.not_found',
  408: 'api.bad_request',
  413: 'api.bad_request',
  415: 'api.bad_request',
  503: 'policy.full',
} as const satisfies Record<number, ErrorCode>;

/** Why a delivery is refused. Forges show status and message on the page of the webhook. */
export class Refusal extends EphError {
  readonly status: keyof typeof codes;

  constructor(status: keyof typeof codes, message: string) {
    super(codes[status], message);
    this.status = status;
  }
}
