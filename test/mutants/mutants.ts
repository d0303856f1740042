import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

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

/** The mutants of this folder's texts: `# name`, file, `- line`, `+ line`, test files, an empty line. Throws if a part or a test is missing, or a name is taken. */
export function readMutants(): Mutant[] {
  const texts = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt'))
  const names = new Set<string>()
  return texts.flatMap((name) => {
    const entries = readFileSync(join(import.meta.dirname, name), 'utf8')
      .split(/^# /m)
      .slice(1)
    return entries.map((entry) => {
      const [name = '', file = '', before = '', after = '', ...tests] = entry.trimEnd().split('\n')
      if (!before.startsWith('- ') || !/^\+( |$)/.test(after) || tests.length === 0)
        throw new Error(`the mutant "${name}" needs a file, a line with -, one with + and test files`)
      const missing = tests.find((test) => !existsSync(join(ROOT, test)))
      if (missing !== undefined)
        throw new Error(`the mutant "${name}" names ${missing}, which does not exist`)
      if (names.size === names.add(name).size) throw new Error(`two mutants are named "${name}"`)
      return { name, file, before: before.slice(2), after: after.slice(2), tests }
    })
  })
}

/** The text with the defect, at the indentation of the line; null if it has no such line, or several. */
export function mutate(text: string, { before, after }: Mutant): string | null {
  const lines = text.split('\n')
  const [index = -1, ...others] = lines.flatMap((line, i) => (line.trim() === before ? [i] : []))
  if (index < 0 || others.length > 0) return null
  return lines
    .with(
      index,
      (lines[index] ?? '').replace(before, () => after),
    )
    .join('\n')
}
