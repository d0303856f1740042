import { useEffect, useRef } from 'preact/hooks'
import type { SearchHit, SearchResult } from '../../../operations/log/search.ts'
import {
  describeBeginning,
  describeEnding,
  filterFor,
  findMeant,
  LOOKED_FOR,
  SEARCH_ON,
} from '../../../operations/log/search-kinds.ts'
import { isLogLocator } from '../../../service/model/log/log-locator.ts'
import { useOffers } from '../offers.tsx'
import { filledIn, go, State, Title, Value } from '../parts.tsx'
import { buildHref, type Route } from '../route.ts'
import { useData } from '../use-data.ts'
import { Waiting } from '../waiting.tsx'

/** The search box of every page. */
export function Search() {
  const input = useRef<HTMLInputElement>(null)
  const { attributes, offers } = useOffers(null)
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
          {...attributes}
        />
        {offers}
      </form>
    </search>
  )
}

function hrefOfSearch(q: string): string {
  return isLogLocator(q) ? buildHref(['log', q]) : buildHref(['search'], { q })
}

/**
 * An exact match opens at once, in place of the search. A name that only begins or ends with the text may be another claim, and is
 * offered.
 */
export function SearchView({ query: { q = '' } }: Route) {
  const loaded = useData<SearchResult>(['search'], { q })
  const { hits = [], similar = [], beginnings = [], endings = [] } = loaded.data ?? {}
  const meant = findMeant(q, { hits, similar })
  const next = meant === null ? undefined : buildHitHref(meant)
  useEffect(() => {
    if (next !== undefined) location.replace(next)
  }, [next])
  return (
    <>
      <Title name="Search">
        Search for <Value text={q} mono />
      </Title>
      <State loaded={loaded} />
      <Hits hits={hits} />
      {loaded.data !== null && hits.length === 0 && (
        <p role="status">
          {similar.length + endings.length > 0 ? (
            'No exact match. Similar names:'
          ) : (
            <>
              Nothing found. {LOOKED_FOR} {SEARCH_ON} <a href={buildHref(['log'])}>Or filter all entries</a>.
            </>
          )}
        </p>
      )}
      {loaded.data !== null && hits.length === 0 && <Waiting />}
      <Hits hits={similar} />
      {beginnings.map((kind) => (
        <p key={kind}>{describeBeginning(kind)}</p>
      ))}
      {endings.map((ending) => (
        <p key={ending.kind}>{describeEnding(ending)}</p>
      ))}
    </>
  )
}

function Hits({ hits }: { hits: readonly SearchHit[] }) {
  return (
    <ul>
      {hits.map((hit) => (
        <li key={`${hit.kind} ${hit.value}`}>
          <a href={buildHitHref(hit)}>
            {KIND_TEXTS[hit.kind]} <Value text={hit.value} mono />
          </a>
        </li>
      ))}
    </ul>
  )
}

const KIND_TEXTS = {
  entry: 'The entry',
  event: 'The event',
  member: 'The member',
  reference: 'Messages about',
  'event type': 'All events of the type',
  reason: 'All entries with the reason',
} as const

function buildHitHref(hit: SearchHit): string {
  if (hit.locator !== null) return buildHref(['log', hit.locator])
  return hit.kind === 'member' ? buildHref(['parties', hit.value]) : buildHref(['log'], filterFor(hit))
}
