/** Forgets all of them when there are so many: most strings that come then are in no other object. */
const limit = 4_096;

/** One copy of strings that many objects have: labels, images, names of conditions. Half of what objects take is such strings. */
export class SharedStrings {
  readonly #known = new Map<string, string>();

  /** Replaces strings within by equal ones. */
  shareIn(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    const fields = value as Record<string, unknown>;
    for (const [name, field] of Object.entries(fields)) {
      if (typeof field === 'string') fields[name] = this.#share(field);
      else this.shareIn(field);
    }
  }

  #share(text: string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size >= limit) this.#known.clear();
    this.#known.set(text, text);
    return text;
  }
}
