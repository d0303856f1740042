import { type FragmentSqlToken, sql } from 'slonik'
import { sqlArray } from '../../service/store/sql/columns.ts'
import { isNumeric, wordPattern } from './find-mention.ts'

/** The ways in which a request may name a person. Each use reads all requests. */
export interface Naming {
  /** Party, references, event ids and locators of log entries. */
  readonly names?: readonly string[]
  /** The party, as a word of a text. */
  readonly word?: string
  /** Whole texts that an operator has confirmed. */
  readonly texts?: readonly string[]
  /** Rejected messages. */
  readonly ids?: readonly bigint[]
}

/** Filters whose value names one thing. A party is named by its own filter, or as an event's reference. */
const NAMES_OF_ENTRIES = ['locator', 'eventId', 'reference']
/** Filters whose value is a sentence. */
const SENTENCES = ['reason', 'reasonPrefix']
/** Filters whose text may name a person. */
export const NAMING_FILTERS = [...NAMES_OF_ENTRIES, ...SENTENCES, 'partyLocator', 'eventType']

/** Condition for a part of a stored filter, given its name and text, that names somebody. */
export function namesInPart(name: FragmentSqlToken, text: FragmentSqlToken, naming: Naming) {
  const { names = [], word, texts = [] } = naming
  return sql.fragment`(
    ${name} = 'partyLocator' AND ${text} = ${word ?? ''}
    OR ${name} = ANY(${sqlArray('text', NAMES_OF_ENTRIES)}) AND ${text} = ANY(${sqlArray('text', names)})
    OR ${name} = ANY(${sqlArray('text', SENTENCES)}) AND (${namesIn(text, { names, word })})
    OR ${name} = ANY(${sqlArray('text', NAMING_FILTERS)}) AND ${text} = ANY(${sqlArray('text', texts)})
  )`
}

const BLANKS = '\t\n\r\u00a0'
const PUNCTUATION = `"'()[]{}\u00ab\u00bb\u201c\u201d\u2018\u2019.,;:!?`

/** A bare number does not name an entry: it may count or measure anything. */
export function namesIn(text: FragmentSqlToken, { names = [], word, texts = [] }: Naming) {
  const words = sqlArray(
    'text',
    names.filter((name) => !isNumeric(name)),
  )
  return sql.fragment`coalesce(${text} ~ ${pattern(word)}, false) OR ${text} = ANY(${sqlArray('text', texts)})
    OR ${text} = ANY(${words}) OR EXISTS (
      SELECT FROM unnest(string_to_array(translate(${text}, ${BLANKS}, '    '), ' ')) AS part (word),
        LATERAL btrim(word, ${PUNCTUATION}) AS bare
      WHERE bare = ANY(${words}) OR right(bare, 2) IN ('''s', '\u2019s') AND left(bare, -2) = ANY(${words})
    )`
}

function pattern(word: string | undefined): string | null {
  return word === undefined ? null : wordPattern(word)
}
