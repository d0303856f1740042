import { useCallback, useEffect, useState } from 'preact/hooks'
import { type RequestError, token } from './api.ts'
import { Title } from './parts.tsx'
import { hrefOf, routeOf } from './route.ts'
import { EntryView } from './views/entry.tsx'
import { LogView } from './views/log.tsx'
import { OverviewView } from './views/overview.tsx'
import { PartyView } from './views/party.tsx'
import { RejectedView } from './views/rejected.tsx'
import { RulesView } from './views/rules.tsx'
import { TokenForm } from './views/token.tsx'
import { WorkbenchView } from './views/workbench.tsx'
import { Refused, type Visit } from './visit.ts'

const NOT_TOLD = { notTold: 'true' }

const VIEWS: readonly { path: readonly string[]; query?: Record<string, string>; name: string }[] = [
  { path: [], name: 'Overview' },
  { path: ['log'], query: NOT_TOLD, name: 'Not told' },
  { path: ['log'], name: 'Log' },
  { path: ['parties'], name: 'Members' },
  { path: ['rejected'], name: 'Rejected' },
  { path: ['rules'], name: 'Rules' },
  { path: ['workbench'], name: 'Workbench' },
]

/** The console: navigation and the current view. */
export function App() {
  const route = useVisit()
  const [why, setWhy] = useState<string | null>(null)
  const refused = useCallback(({ message }: RequestError) => {
    token.clear()
    setWhy(message)
  }, [])
  const forget = () => {
    token.clear()
    setWhy('The token was removed from this tab.')
  }
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to content
      </button>
      <header class="top">
        <a class="brand" href={hrefOf([])}>
          Notifications
        </a>
        <nav aria-label="Views">
          {VIEWS.map(({ path, query, name }) => (
            <a
              key={name}
              href={hrefOf(path, query)}
              aria-current={isCurrent(route, path, query) ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        {token.get() !== null && (
          <button type="button" class="quiet" onClick={forget}>
            Remove token
          </button>
        )}
      </header>
      <main id="main" tabIndex={-1}>
        {why !== null ? (
          <TokenForm why={why} onToken={() => setWhy(null)} />
        ) : (
          <Refused.Provider value={refused}>
            <View {...route} />
          </Refused.Provider>
        )}
      </main>
      <footer>
        <p>
          Times are in {TIME_ZONE}.{TIME_ZONE !== 'UTC' && ' Hover over a time to see it in UTC.'}
        </p>
      </footer>
    </>
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
      return rest.length > 0 ? <EntryView key={rest.join('/')} {...route} /> : <LogView {...route} />
    case 'parties':
      return <PartyView key={rest.join('/')} {...route} />
    case 'rejected':
      return <RejectedView {...route} />
    case 'rules':
      return <RulesView />
    case 'workbench':
      return <WorkbenchView />
    default:
      return <Title name="Page not found" />
  }
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

/** A button, not a link: the fragment of the address names the view. */
function skip(): void {
  document.getElementById('main')?.focus()
}
