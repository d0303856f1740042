import { nameOfChannel } from '../../core/decision/channel.ts'
import type { ListedLogEntry } from '../../core/log/log-entry.ts'
import type { Page } from '../../core/log/log-page.ts'
import { describeChange, optedOutSince } from '../../core/party/preference-changes.ts'
import type { PreferenceChange, PreferenceHistory } from '../../core/party/preferences.ts'
import { Download } from '../download.tsx'
import { List, pickValues, type Row, timeCell, windowStart } from '../list.tsx'
import { Similar } from '../offers.tsx'
import { Facts, State, Time, Title, Value } from '../parts.tsx'
import { buildHref, type Query, type Route } from '../route.ts'
import { inWords, localTime } from '../text.ts'
import { useData, usePages } from '../use-data.ts'
import { ENTRY_FILTERS, entryRow } from './log.tsx'

/** A member: the preferences, and one timeline of messages, skips and changes of preferences. */
export function PartyView(route: Route) {
  const [, partyLocator = ''] = route.path
  const values = pickValues(ENTRY_FILTERS, route.query)
  const asked = { ...values, partyLocator }
  const pages = usePages<ListedLogEntry>(['log', 'list'], { ...asked, cursor: route.query.cursor })
  const loaded = useData<PreferenceHistory>(['preferences', partyLocator])
  const { from, to, ...others } = values
  const isFiltered = Object.values(values).some(Boolean)
  const changes = Object.values(others).some(Boolean) ? [] : (loaded.data?.changes ?? [])
  const isKnown =
    loaded.data?.preferences ||
    loaded.data?.changes.length ||
    pages.data?.items.length ||
    pages.data?.nextCursor
  const isUnknown = !isKnown && !isFiltered && loaded.data !== null && pages.data !== null
  return (
    <>
      <Title name={`Member ${partyLocator}`}>
        Member <Value text={partyLocator} mono />
      </Title>
      <State loaded={loaded} />
      {isUnknown ? (
        <>
          <p class="notice">
            This member is unknown here: there is no message, no preference and no change under this locator.
          </p>
          <Similar named="member" text={partyLocator} hrefOf={(name) => buildHref(['parties', name])} />
        </>
      ) : (
        <>
          {loaded.data !== null && <Preferences history={loaded.data} />}
          <List
            label="Timeline"
            route={route}
            filters={ENTRY_FILTERS}
            pages={{ ...pages, data: pages.data && withChanges(pages.data, changes, route.query) }}
            following={{ before: pages.data?.items.at(-1)?.createdAt }}
            renderRow={renderRow}
            noun={['entry', 'entries']}
          />
          {loaded.data?.isMore && <p>Only the last 100 changes of preferences are shown.</p>}
          <Download
            key={JSON.stringify(asked)}
            query={asked}
            name="member.csv"
            changes={changesWithin(changes, values).map((change) => ({ ...change, partyLocator }))}
          />
        </>
      )}
    </>
  )
}

/** A page of entries and the changes of the same period, newest first. */
function withChanges(
  { items, nextCursor }: Page<ListedLogEntry>,
  changes: readonly PreferenceChange[],
  query: Query,
): Page<ListedLogEntry | PreferenceChange> {
  const oldest = nextCursor === null ? '' : (items.at(-1)?.createdAt ?? '~')
  const shown = changesWithin(changes, query).filter(({ changedAt }) => changedAt >= oldest)
  return { items: [...items, ...shown].sort((a, b) => (readTime(a) < readTime(b) ? 1 : -1)), nextCursor }
}

function changesWithin(
  changes: readonly PreferenceChange[],
  { from = '', to = '~', before = '~' }: Query,
): readonly PreferenceChange[] {
  const [start, end] = [windowStart(from), windowStart(to)]
  return changes.filter(({ changedAt: at }) => at >= start && at < end && at < before)
}

function readTime(item: ListedLogEntry | PreferenceChange): string {
  return 'locator' in item ? item.createdAt : item.changedAt
}

function renderRow(item: ListedLogEntry | PreferenceChange): Row {
  if (!('locator' in item)) return changeRow(item)
  const { cells, ...row } = entryRow(item, localTime)
  const { Member: _, ...others } = cells
  return { ...row, cells: others }
}

function changeRow(change: PreferenceChange): Row {
  const { changedAt, after } = change
  return {
    key: changedAt,
    cells: {
      Time: timeCell(changedAt, localTime),
      Status: 'Preferences',
      'Event type': null,
      About: null,
      Channel: inWords(nameOfChannel(after.preferredChannel)),
      'Subject or reason': describeChange(change),
    },
  }
}

function OptOut({ eventType, changes }: { eventType: string } & Pick<PreferenceHistory, 'changes'>) {
  const since = optedOutSince(changes, eventType)
  const [oldest] = changes.slice(-1)
  return (
    <li>
      <Value text={eventType} />
      {since !== null && (
        <>
          {' since '}
          <Time iso={since} />
        </>
      )}
      {since === null && oldest !== undefined && (
        <>
          {' since before '}
          <Time iso={oldest.changedAt} />
        </>
      )}
    </li>
  )
}

function Preferences({ history }: { history: PreferenceHistory }) {
  const { preferences, unknownEventTypes, changes } = history
  return (
    <section class="card" aria-label="Preferences">
      {preferences === null ? (
        <p>No preferences are stored. The rules take that as preferring email and opting out of nothing.</p>
      ) : (
        <Facts
          facts={{
            'Preferred channel': inWords(nameOfChannel(preferences.preferredChannel)),
            'Opted out of':
              preferences.optedOutEvents.length === 0 ? (
                'nothing'
              ) : (
                <ul class="unstyled">
                  {preferences.optedOutEvents.map((eventType) => (
                    <OptOut key={eventType} eventType={eventType} changes={changes} />
                  ))}
                </ul>
              ),
          }}
        />
      )}
      {unknownEventTypes.length > 0 && (
        <p>
          No template, rule or logged event has the type <Value text={unknownEventTypes.join(', ')} />: if it
          is misspelt, this opt-out has no effect.
        </p>
      )}
    </section>
  )
}
