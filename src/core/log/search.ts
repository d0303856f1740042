import { z } from 'zod'

/** Things that a searched text may name, the most telling first. */
const SEARCH_KINDS = ['entry', 'event', 'member', 'reference', 'event type'] as const

/** `locator`: that of the only log entry; null if there may be more than one. */
export const searchHit = z.object({
  kind: z.enum(SEARCH_KINDS),
  value: z.string(),
  locator: z.string().nullable(),
})
export type SearchHit = Readonly<z.infer<typeof searchHit>>

export const searchResult = z.object({
  /** Named exactly as typed. */
  hits: z.array(searchHit),
  /** Named nearly so: spelled otherwise, or beginning with the text. */
  similar: z.array(searchHit),
})
export type SearchResult = Readonly<z.infer<typeof searchResult>>

const NUMBERED = /^(.*?)(\d+)$/s
const FORM_COUNT_MAX = 20

/**
 * Other spellings under which the log may know a text: without spaces, in capitals, and completed like `samples`, recent locators
 * of the log. With the sample `CLA-2026-00731`, `56`, `00056` and `cla 2026 56` are completed to `CLA-2026-00056`.
 */
export function listSpellings(text: string, samples: readonly string[]): readonly string[] {
  const typed = text.trim()
  const [, head = '', digits] = NUMBERED.exec(typed) ?? []
  const completed = digits === undefined ? [] : complete(squash(head), digits, samples)
  const bare = typed.replaceAll(/\s/g, '')
  const cased = [typed, bare].flatMap((one) => [one, one.toUpperCase(), one.toLowerCase()])
  // A locator of the log has capitals in its first part only.
  const locator = bare.toLowerCase().replace(/^ntf-/, 'NTF-')
  return [...new Set([...cased, locator, ...completed])].filter((one) => one !== text && one !== '')
}

function complete(head: string, digits: string, samples: readonly string[]): string[] {
  const forms = new Map<string, { readonly prefix: string; readonly width: number }>()
  for (const sample of samples) {
    const [, prefix = '', number = ''] = NUMBERED.exec(sample) ?? []
    if (prefix !== '' && forms.size < FORM_COUNT_MAX)
      forms.set(`${prefix}${number.length}`, { prefix, width: number.length })
  }
  return [...forms.values()]
    .filter(({ prefix, width }) => digits.length <= width && squash(prefix).endsWith(head))
    .map(({ prefix, width }) => `${prefix}${digits.padStart(width, '0')}`)
}

function squash(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]/gu, '').toLowerCase()
}
