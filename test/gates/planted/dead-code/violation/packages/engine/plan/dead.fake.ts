export const fakeNobodyCalls = true;
