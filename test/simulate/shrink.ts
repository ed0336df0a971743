/**
 * Leaves out what is not needed to fail: large chunks, then smaller ones, then single items, from the end to the start because later
 * items depend on earlier ones. `fails` returns what a try cost; the search ends when the budget is spent.
 */
export const shrink = async <T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<{ readonly failed: boolean; readonly cost: number }>,
  budget: number,
): Promise<readonly T[]> => {
  let best = items;
  let spent = 0;
  for (let size = Math.ceil(items.length / 2); size >= 1 && spent < budget; ) {
    const before = best.length;
    for (let end = best.length; end > 0 && spent < budget; end -= size) {
      const candidate = [...best.slice(0, Math.max(0, end - size)), ...best.slice(end)];
      const { failed, cost } = await fails(candidate);
      spent += cost;
      if (failed) best = candidate;
    }
    if (size > 1) size = Math.floor(size / 2);
    else if (best.length === before) break;
  }
  return best;
};
