/** Escapes text, so that it is neither Markdown nor HTML and mentions no user by @name. */
export function literal(text: string): string {
  return text.replace(/[\\`*[\]<>&|~@#]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Literal text in a block that no run of backticks in it can end. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}text\n${text}\n${fence}`
}
