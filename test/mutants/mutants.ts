import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A small defect: another line in place of one. */
export interface Mutant {
  /** What goes wrong. */
  readonly name: string
  readonly file: string
  readonly before: string
  /** Empty if the line is removed. */
  readonly after: string
  /** The test files that must fail. The first one owns the hazard. */
  readonly tests: readonly string[]
}

/** The mutants of this folder's texts: `# name`, file, `- line`, `+ line`, test files, an empty line. Throws if a part is missing. */
export function readMutants(): Mutant[] {
  const texts = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt'))
  return texts.flatMap((name) => {
    const entries = readFileSync(join(import.meta.dirname, name), 'utf8')
      .split(/^# /m)
      .slice(1)
    return entries.map((entry) => {
      const [name = '', file = '', before = '', after = '', ...tests] = entry.trimEnd().split('\n')
      if (!before.startsWith('- ') || !/^\+( |$)/.test(after) || tests.length === 0)
        throw new Error(`the mutant "${name}" needs a file, a line with -, one with + and test files`)
      return { name, file, before: before.slice(2), after: after.slice(2), tests }
    })
  })
}

/** The text with the defect, at the indentation of the line. Throws if it has no such line, or several. */
export function mutate(text: string, { name, file, before, after }: Mutant): string {
  const lines = text.split('\n')
  const [index = -1, ...others] = lines.flatMap((line, i) => (line.trim() === before ? [i] : []))
  if (index < 0 || others.length > 0)
    throw new Error(
      `the mutant "${name}" replaces one line, but ${file} has ${index < 0 ? 'no' : 'another'} "${before}"`,
    )
  return lines
    .with(
      index,
      (lines[index] ?? '').replace(before, () => after),
    )
    .join('\n')
}
