export enum Phase {
  Ready,
}
