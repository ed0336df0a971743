export type ProjectId = string;
