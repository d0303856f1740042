/** A text that others insert by `{{> name}}`. */
const PART_FILE = /^parts\/([a-z0-9_-]+)\.mustache$/
const PARTIAL = /\{\{\s*>\s*([^\s}]+)\s*\}\}/g

interface Named {
  readonly name: string
}

export function isPart({ name }: Named): boolean {
  return name.startsWith('parts/')
}

/** The name by which texts insert a part; null if its file name is wrong. */
export function nameOfPart({ name }: Named): string | null {
  return PART_FILE.exec(name)?.[1] ?? null
}

/** The parts of these files by name, without BOM and final line breaks. */
export function readParts(
  files: readonly (Named & { readonly text: string })[],
): ReadonlyMap<string, string> {
  return new Map(
    files.flatMap((file) => {
      const name = nameOfPart(file)
      return name === null ? [] : [[name, file.text.replace(/^\uFEFF/, '').trimEnd()]]
    }),
  )
}

/** The parts that a text inserts. */
export function listInserted(text: string): readonly string[] {
  return [...text.matchAll(PARTIAL)].map(([, name = '']) => name)
}

/** The text with its parts. */
export function insertParts(text: string, parts: ReadonlyMap<string, string>): string {
  return text.replace(PARTIAL, (_, name) => parts.get(name) ?? '')
}
