import { useEffect, useId, useState } from 'preact/hooks'
import type { SearchHit, SearchResult } from '../../operations/log/search.ts'
import type { CurrentRules } from '../../service/decide/rules/current-rules.ts'
import { useData } from './use-data.ts'

/** The kind of name in a field. `null`: anything that the search finds. */
export type Named = 'event type' | 'rule' | 'reason' | 'member' | 'reference' | null

const SEARCHED_LENGTH_MIN = 2
const DEBOUNCE_MS = 150

type Known = SearchResult & CurrentRules & { readonly items: readonly { readonly eventType: string }[] }

function isSearched(named: Named): boolean {
  return named === null || named === 'member' || named === 'reference'
}

/** The known names, or those found for a text; null until they are loaded. */
function useNames(named: Named, text: string): readonly string[] | null {
  const path = isSearched(named) ? 'search' : named === 'event type' ? 'event-types' : 'rules'
  const { data } = useData<Known>([path], isSearched(named) ? { q: text } : {})
  if (data === null) return null
  if (named === 'event type') return data.items.map(({ eventType }) => eventType)
  if (!isSearched(named))
    return unique(data.rules.map(({ ruleId, reason }) => (named === 'rule' ? ruleId : (reason ?? ''))))
  const isNamed = ({ kind }: SearchHit) => named === null || kind === named
  return unique([...data.hits, ...data.similar].filter(isNamed).map(({ value }) => value))
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)].filter(Boolean)
}

/** The attributes of an input that offers names while one types, and its list of them. */
export function useOffers(named: Named) {
  const id = useId()
  const [typed, setTyped] = useState<string | null>(null)
  const [text, setText] = useState<string | null>(null)
  useEffect(() => {
    const timer = setTimeout(() => setText(typed), DEBOUNCE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  const note = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
    setTyped(currentTarget.value.trim())
  const isReady = text !== null && (!isSearched(named) || text.length >= SEARCHED_LENGTH_MIN)
  const offers = <datalist id={id}>{isReady && <Options named={named} text={text} />}</datalist>
  return { attributes: { list: id, onFocus: note, onInput: note }, offers }
}

function Options({ named, text }: { named: Named; text: string }) {
  return useNames(named, text)?.map((name) => <option key={name} value={name} />)
}
