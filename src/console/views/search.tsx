import { useEffect, useRef } from 'preact/hooks'
import type { ListedLogEntry } from '../../core/log/log-entry.ts'
import { isLogLocator } from '../../core/log/log-locator.ts'
import type { Page } from '../../core/log/log-page.ts'
import type { PreferenceHistory } from '../../core/party/preferences.ts'
import { filledIn, go, State, Title, Value } from '../parts.tsx'
import { buildHref, type Route } from '../route.ts'
import { type Loaded, useData } from '../use-data.ts'

/** The search box of every page. */
export function Search() {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = (event.target as Element).matches('input, select, textarea')
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      input.current?.select()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const search = (event: SubmitEvent) => {
    const { q = '' } = filledIn(event)
    if (q !== '') go(hrefOfSearch(q))
  }
  return (
    <search>
      <form onSubmit={search}>
        <input
          ref={input}
          type="search"
          name="q"
          aria-label="Search"
          aria-keyshortcuts="/"
          placeholder="Member, claim, invoice … /"
          maxLength={255}
          autocomplete="off"
          spellcheck={false}
        />
      </form>
    </search>
  )
}

function hrefOfSearch(q: string): string {
  return isLogLocator(q) ? buildHref(['log', q]) : buildHref(['search'], { q })
}

/** Searches for the text, then for it in capitals. A single hit opens at once, in place of the search. */
export function SearchView({ query: { q = '' } }: Route) {
  const asked = [
    useData<Page<ListedLogEntry>>(['log', 'list'], { eventId: q, limit: '2' }),
    useData<Page<ListedLogEntry>>(['log', 'list'], { partyLocator: q, limit: '2' }),
    useData<Page<ListedLogEntry>>(['log', 'list'], { reference: q, limit: '2' }),
    useData<PreferenceHistory>(['preferences', q]),
  ] as const
  const [event, ofMember, ofReference, preferences] = asked
  const about = ofReference.data?.items ?? []
  const isMember =
    ofMember.data?.items.length || preferences.data?.preferences || preferences.data?.changes.length
  const hrefOfEntry = ({ locator }: ListedLogEntry) => buildHref(['log', locator])
  const hits = [
    ...(event.data?.items ?? []).map((one) => [`The event, ${one.eventType}`, hrefOfEntry(one)] as const),
    ...(isMember ? [['The member', buildHref(['parties', q])] as const] : []),
    ...(about.length > 1
      ? [['All messages about it', buildHref(['log'], { reference: q })] as const]
      : about.map((one) => [`The only message about it, ${one.eventType}`, hrefOfEntry(one)] as const)),
  ]
  const isDone = asked.every(({ data }) => data !== null)
  const inCapitals = q.toUpperCase()
  const isToRepeat = isDone && hits.length === 0 && q !== inCapitals
  const next = isToRepeat ? hrefOfSearch(inCapitals) : isDone && hits.length === 1 ? hits[0]?.[1] : undefined
  useEffect(() => {
    if (next !== undefined) location.replace(next)
  }, [next])
  const failed: Loaded<unknown> = asked.find(({ problem }) => problem !== null) ?? event
  return (
    <>
      <Title name="Search">
        Search for <Value text={q} mono />
      </Title>
      <State loaded={failed} />
      <ul>
        {hits.map(([kind, href]) => (
          <li key={href}>
            <a href={href}>
              <Value text={kind} />
            </a>
          </li>
        ))}
      </ul>
      {isDone && hits.length === 0 && !isToRepeat && (
        <p role="status">
          Nothing found: no member, claim, policy, invoice, event or entry is called exactly so, as typed or
          in capitals.
        </p>
      )}
    </>
  )
}
