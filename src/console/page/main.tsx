import { type FunctionComponent, render } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import '@knadh/oat/css/00-base.css'
import '@knadh/oat/css/01-theme.css'
import '@knadh/oat/css/button.css'
import '@knadh/oat/css/form.css'
import '@knadh/oat/css/table.css'
import '@knadh/oat/css/card.css'
import '@knadh/oat/css/badge.css'
import '@knadh/oat/css/utilities.css'
import './style.css'
import type { ServiceStatus } from '../../service/model/service-status.ts'
import type { SignIn } from '../../service/model/sign-in.ts'
import { type RequestError, token } from './api.ts'
import { AskHost } from './ask.tsx'
import { Links, NOT_LOADED, Problem, Title } from './parts.tsx'
import { parseRoute, type Route } from './route.ts'
import { Status } from './status.tsx'
import { formatNumber, visible } from './text.ts'
import { useData, Visit } from './use-data.ts'
import { EntryView } from './views/entry.tsx'
import { LogView } from './views/log.tsx'
import { OverviewView } from './views/overview.tsx'
import { PartyView } from './views/party.tsx'
import { Search, SearchView } from './views/search.tsx'
import { SignInForm } from './views/token.tsx'

/** Views by the first segment of their path. A log entry has a second one. */
const VIEWS: Readonly<Record<string, FunctionComponent<Route>>> = {
  '': OverviewView,
  log: ({ path, ...route }) =>
    path.length > 1 ? <EntryView path={path} {...route} /> : <LogView path={path} {...route} />,
  // Without a locator the list would be that of all members.
  parties: (route) => (route.path[1]?.trim() ? <PartyView {...route} /> : <NotFound />),
  search: SearchView,
  rejected: later('Unreadable messages', async () => (await import('./views/rejected.tsx')).RejectedView),
  requests: later(
    ({ path: [, id] }) => (id === undefined ? 'Requests' : `Request ${visible(id)}`),
    async () => (await import('./views/requests.tsx')).RequestsView,
  ),
  rules: later('Rules', async () => (await import('./views/rules.tsx')).RulesView),
  workbench: later('Workbench', async () => (await import('./views/workbench.tsx')).WorkbenchView),
}

const NOT_TOLD = '#/log?notTold=true'
const UNREADABLE = '#/rejected'
const NAVIGATION = {
  Overview: '#/',
  'Not told': NOT_TOLD,
  Log: '#/log',
  Unreadable: UNREADABLE,
  Requests: '#/requests',
  Rules: '#/rules',
  Workbench: '#/workbench',
}
const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone
const TICK_MS = 30_000
/** Time after which the service counts as silent. */
const ANSWER_MS = 10_000

/** The console: navigation and the current view. */
function App({ settings, problem }: { settings: SignIn | null; problem: string | null }) {
  const [{ path, query, visit }, setRoute] = useState(() => ({ ...parseRoute(location.hash), visit: 0 }))
  const [why, setWhy] = useState(problem)
  const [, tick] = useState(0)
  useEffect(() => {
    // The browser would restore the position before the rows are there.
    history.scrollRestoration = 'manual'
    history.replaceState(true, '')
    const scrollYOf = new Map<string, number>()
    addEventListener('hashchange', ({ oldURL, newURL }) => {
      scrollYOf.set(oldURL, scrollY)
      // A history entry that was visited before has its state.
      Title.scrollYWanted = history.state === null ? null : (scrollYOf.get(newURL) ?? null)
      history.replaceState(true, '')
      Title.hasNavigated = true
      setRoute((before) => ({ ...parseRoute(location.hash), visit: before.visit + 1 }))
    })
    // Renders the page repeatedly, so that relative times stay current.
    setInterval(() => tick((count) => count + 1), TICK_MS)
  }, [])
  const forget = (words: string) => {
    token.clear()
    setWhy(words)
  }
  const here = useMemo(() => ({ visit, refused: ({ message }: RequestError) => forget(message) }), [visit])
  const [first = ''] = path
  const View = (Object.hasOwn(VIEWS, first) && VIEWS[first]) || NotFound
  // The lists of the log share a path and differ in their query.
  const current = first === 'log' && query.notTold !== undefined ? NOT_TOLD : `#/${first}`
  return (
    <Visit.Provider value={here}>
      <AskHost key={String(why === null)}>
        {/* A button, not a link: the fragment of the address names the view. */}
        <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
          Skip to content
        </button>
        <header class="hstack">
          {why === null ? <Head current={current} /> : <Views current={current} />}
        </header>
        <main id="main" tabIndex={-1}>
          {why === null ? (
            <View key={`${path.join('/')} ${query.cursor} ${query.q && visit}`} path={path} query={query} />
          ) : (
            <SignInForm why={why} settings={settings} onToken={() => setWhy(null)} />
          )}
        </main>
        <footer class="hstack justify-center text-light">
          Times are in {TIME_ZONE}.
          {TIME_ZONE !== 'UTC' && <span class="hovering"> Hover over a time to see it in UTC too.</span>}
          {token.get() !== null && (
            <button
              type="button"
              class="outline small"
              onClick={() => forget('The token was removed from this tab.')}
            >
              {settings === null ? 'Remove token' : 'Sign out'}
            </button>
          )}
        </footer>
      </AskHost>
    </Visit.Provider>
  )
}

const STATUS_EVERY_MS = 5_000

function Head({ current }: { current: string }) {
  const loaded = useData<ServiceStatus>(['status'], {}, STATUS_EVERY_MS)
  return (
    <>
      <Views current={current} unreadable={loaded.data?.totals?.rejected} />
      <Search />
      <Status loaded={loaded} />
    </>
  )
}

/** The navigation. The number of open unreadable messages stands beside their page. */
function Views({ current, unreadable }: { current: string; unreadable?: number | null | undefined }) {
  const links = Object.entries(NAVIGATION).map(([name, href]) => ({
    name,
    count: href === UNREADABLE && unreadable ? formatNumber(unreadable) : undefined,
    href,
    isCurrent: href === current,
  }))
  return <Links label="Views" links={links} />
}

function NotFound() {
  return <Title name="Page not found" />
}

/** A view whose code is loaded when it is first opened, below its title. */
function later(
  name: string | ((route: Route) => string),
  load: () => Promise<FunctionComponent<Route>>,
): FunctionComponent<Route> {
  return (route) => {
    const [View, setView] = useState<FunctionComponent<Route> | null>(null)
    const [problem, setProblem] = useState<string | null>(null)
    useEffect(() => {
      load().then(
        (view) => setView(() => view),
        () => setProblem('Reload the page.'),
      )
    }, [])
    return (
      <>
        <Title name={typeof name === 'string' ? name : name(route)} />
        {View === null ? <Problem problem={problem} title={NOT_LOADED} /> : <View {...route} />}
      </>
    )
  }
}

async function finishSignIn(settings: SignIn): Promise<void> {
  if (new URL(location.href).searchParams.has('state'))
    await (await import('./sign-in.ts')).completeSignIn(settings)
}

/** Nothing is read until a user who returns from the identity provider has a token. */
async function start(): Promise<void> {
  const response = await fetch('console/sign-in', { signal: AbortSignal.timeout(ANSWER_MS) }).catch(
    () => null,
  )
  const settings: SignIn | null = response?.ok ? (await response.json()).signIn : null
  const problem = await (settings === null ? Promise.resolve() : finishSignIn(settings)).then(
    () => null,
    ({ message }: Error) => `You are not signed in: ${message}`,
  )
  render(<App settings={settings} problem={problem} />, document.getElementById('root') as HTMLElement)
}

void start()
