import { useCallback, useEffect, useState } from 'preact/hooks'
import { type RequestError, token } from './api.ts'
import { Links, NOT_LOADED, Problem, Title } from './parts.tsx'
import { hrefOf, routeOf } from './route.ts'
import { Status } from './status.tsx'
import { EntryView } from './views/entry.tsx'
import { LogView } from './views/log.tsx'
import { OverviewView } from './views/overview.tsx'
import { PartyView } from './views/party.tsx'
import { RejectedView } from './views/rejected.tsx'
import { RulesView } from './views/rules.tsx'
import { Search, SearchView } from './views/search.tsx'
import { TokenForm } from './views/token.tsx'
import { Refused, type Visit } from './visit.ts'

const NOT_TOLD = { notTold: 'true' }

const VIEWS: readonly { path: readonly string[]; query?: Record<string, string>; name: string }[] = [
  { path: [], name: 'Overview' },
  { path: ['log'], query: NOT_TOLD, name: 'Not told' },
  { path: ['log'], name: 'Log' },
  { path: ['rejected'], name: 'Rejected' },
  { path: ['rules'], name: 'Rules' },
  { path: ['workbench'], name: 'Workbench' },
]

/** The console: navigation and the current view. */
export function App() {
  const route = useVisit()
  const [why, setWhy] = useState<string | null>(null)
  useTick()
  const refused = useCallback(({ message }: RequestError) => {
    token.clear()
    setWhy(message)
  }, [])
  const forget = () => {
    token.clear()
    setWhy('The token was removed from this tab.')
  }
  return (
    <Refused.Provider value={refused}>
      <button type="button" class="skip" onClick={skip}>
        Skip to content
      </button>
      <header>
        <a class="brand" href={hrefOf([])}>
          Notifications
        </a>
        <Links
          label="Views"
          of={VIEWS.map(({ path, query, name }) => ({
            name,
            href: hrefOf(path, query),
            isCurrent: isCurrent(route, path, query),
          }))}
        />
        {why === null && <Search />}
        {why === null && <Status />}
      </header>
      <main id="main" tabIndex={-1}>
        {why !== null ? <TokenForm why={why} onToken={() => setWhy(null)} /> : <View {...route} />}
      </main>
      <footer>
        <p>
          Times are in {TIME_ZONE}.{TIME_ZONE !== 'UTC' && ' Hover over a time to see it in UTC too.'}
        </p>
        {token.get() !== null && (
          <button type="button" class="outline small" onClick={forget}>
            Remove token
          </button>
        )}
      </footer>
    </Refused.Provider>
  )
}

/** The lists of the log share a path; their query tells them apart. */
function isCurrent(route: Visit, path: readonly string[], query?: Record<string, string>): boolean {
  const isNotTold = route.path.length === 1 && route.query.notTold !== undefined
  return path[0] === route.path[0] && (path[0] !== 'log' || (query !== undefined) === isNotTold)
}

const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

function View(route: Visit) {
  const [view, ...rest] = route.path
  switch (view) {
    case undefined:
      return <OverviewView {...route} />
    case 'log':
      return rest.length > 0 ? (
        <EntryView key={rest.join('/')} {...route} />
      ) : (
        <LogView key={route.query.cursor} {...route} />
      )
    case 'parties':
      return <PartyView key={[...rest, route.query.cursor].join('/')} {...route} />
    case 'search':
      return <SearchView key={route.visit} {...route} />
    case 'rejected':
      return <RejectedView key={route.query.cursor} {...route} />
    case 'rules':
      return <RulesView />
    case 'workbench':
      return <Later />
    default:
      return <Title name="Page not found" />
  }
}

/** Loads the workbench, with its checks of rules and templates, when it is first opened. */
function Later() {
  const [part, setPart] = useState<typeof import('./views/workbench.tsx')>()
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    import('./views/workbench.tsx').then(setPart, () => setProblem('Reload the page.'))
  }, [])
  if (part !== undefined) return <part.WorkbenchView />
  return (
    <>
      <Title name="Workbench" />
      <Problem of={problem} title={NOT_LOADED} />
    </>
  )
}

function useVisit(): Visit {
  const [route, setRoute] = useState<Visit>(() => ({ ...routeOf(location.hash), visit: 0 }))
  useEffect(() => {
    const follow = () => {
      Title.hasNavigated = true
      setRoute(({ visit }) => ({ ...routeOf(location.hash), visit: visit + 1 }))
    }
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return route
}

const TICK_MS = 30_000

/** Renders the page repeatedly, so that relative times stay current. */
function useTick(): void {
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), TICK_MS)
    return () => clearInterval(timer)
  }, [])
}

/** A button, not a link: the fragment of the address names the view. */
function skip(): void {
  document.getElementById('main')?.focus()
}
