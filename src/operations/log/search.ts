import { z } from 'zod'
import { squash } from '../../service/text/find-by-words.ts'
import { SEARCH_KINDS } from './search-kinds.ts'

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
const MISSING_DIGITS_MAX = 3
/** Numbers that are looked up because they end in the typed digits. */
const ENDING_COUNT_MAX = 3_000

/** The numbers with a prefix, then this many unknown digits, then the known ones. */
export interface Ending {
  readonly prefix: string
  readonly missingDigits: number
  readonly digits: string
}

/**
 * Other spellings under which the log may know a text: without spaces, in capitals, and completed like `samples`, recent locators
 * of the log. With the sample `CLA-2026-00731`, `56`, `CLA-00056` and `cla 2026 56` are completed to `CLA-2026-00056`.
 */
export function listSpellings(text: string, samples: readonly string[]): readonly string[] {
  const typed = text.trim()
  const completed = listForms(typed, samples).map(
    ({ prefix, missingDigits, digits }) => `${prefix}${'0'.repeat(missingDigits)}${digits}`,
  )
  const bare = typed.replaceAll(/\s/g, '')
  const cased = [typed, bare].flatMap((one) => [one, one.toUpperCase(), one.toLowerCase()])
  // A locator of the log has capitals in its first part only.
  const locator = bare.toLowerCase().replace(/^ntf-/, 'NTF-')
  return [...new Set([...cased, locator, ...completed])].filter((one) => one !== text && one !== '')
}

/** The numbers in the form of `samples` that may be meant by their last digits: a bounded number, so not by one digit of many. */
export function listEndings(text: string, samples: readonly string[]): readonly Ending[] {
  let count = 0
  return listForms(text.trim(), samples).filter(({ missingDigits }) => {
    if (missingDigits === 0 || missingDigits > MISSING_DIGITS_MAX) return false
    count += 10 ** missingDigits
    return count <= ENDING_COUNT_MAX
  })
}

/** The forms of the samples that a text abbreviates: it has their first or last letters, or none, and at most as many digits. */
function listForms(typed: string, samples: readonly string[]): Ending[] {
  const [, head = '', digits] = NUMBERED.exec(typed) ?? []
  if (digits === undefined) return []
  const forms = new Map<string, { readonly prefix: string; readonly width: number }>()
  for (const sample of samples) {
    const [, prefix = '', number = ''] = NUMBERED.exec(sample) ?? []
    if (prefix !== '' && forms.size < FORM_COUNT_MAX)
      forms.set(`${prefix}${number.length}`, { prefix, width: number.length })
  }
  const begun = squash(head)
  return [...forms.values()]
    .filter(({ prefix, width }) => {
      const whole = squash(prefix)
      return digits.length <= width && (whole.startsWith(begun) || whole.endsWith(begun))
    })
    .map(({ prefix, width }) => ({ prefix, missingDigits: width - digits.length, digits }))
}
