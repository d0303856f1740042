/** A number with its noun, such as "1 event" or "3 events". */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`
}

/** Example: `a, b and 3 more`. */
export function listSome(words: readonly string[], countMax: number): string {
  const more = words.length - countMax
  return more > 0 ? `${words.slice(0, countMax).join(', ')} and ${more} more` : words.join(', ')
}
