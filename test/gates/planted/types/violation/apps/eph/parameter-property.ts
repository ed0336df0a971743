export class Client {
  constructor(readonly url: string) {}
}
