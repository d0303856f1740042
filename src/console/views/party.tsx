import type { ListedLogEntry } from '../../core/log/log-entry.ts'
import type { Page } from '../../core/log/log-page.ts'
import type { PreferenceHistory, StoredPreferences } from '../../core/party/preferences.ts'
import { Entries } from '../entries.tsx'
import { Fact, Field, filledIn, State, Table, Time, Title, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { useData } from '../use-data.ts'
import { go, type Visit } from '../visit.ts'

/** The preferences of a member, with the history of changes. */
export function PartyView({ path: [, partyLocator], visit }: Visit) {
  const search = (event: SubmitEvent) => {
    const { party = '' } = filledIn(event)
    if (party !== '') go(hrefOf(['parties', party]))
  }
  return (
    <>
      {partyLocator === undefined ? (
        <Title name="Members" />
      ) : (
        <Title name={`Member ${partyLocator}`}>
          Member <Value of={partyLocator} mono />
        </Title>
      )}
      <search>
        <form class="filters" onSubmit={search}>
          <Field label="Party locator" name="party" value={partyLocator} />
          <div class="actions">
            <button type="submit" class="primary">
              Look up
            </button>
          </div>
        </form>
      </search>
      {partyLocator !== undefined && <Party key={visit} partyLocator={partyLocator} />}
    </>
  )
}

function Party({ partyLocator }: { partyLocator: string }) {
  const loaded = useData<PreferenceHistory>(['preferences', partyLocator], {})
  const { data } = loaded
  return (
    <>
      <State of={loaded} />
      {data !== null && (
        <>
          <section class="card" aria-labelledby="now">
            <h2 id="now">Preferences</h2>
            {data.preferences === null ? (
              <p>
                No preferences are stored for this member. The rules take that as preferring EMAIL and opting
                out of nothing.
              </p>
            ) : (
              <Preferences of={data.preferences} />
            )}
          </section>
          <LastEntries partyLocator={partyLocator} />
          <section aria-labelledby="history">
            <h2 id="history">History</h2>
            {data.changes.length === 0 ? (
              <p class="faint">No changes recorded.</p>
            ) : (
              <Table
                label="Changes to preferences"
                columns={['Time', 'Changed by', 'Channel', 'Opted out of', 'Email', 'Phone']}
                rows={data.changes.map(({ changedAt, changedBy, before, after }) => ({
                  key: changedAt,
                  cells: [
                    <Time of={changedAt} />,
                    <Value of={changedBy} />,
                    <Change before={before?.preferredChannel} after={after.preferredChannel} />,
                    <Change before={before && listed(before)} after={listed(after)} />,
                    <Change before={before?.email} after={after.email} />,
                    <Change before={before?.phone} after={after.phone} />,
                  ],
                }))}
              />
            )}
            {data.isMore && <p class="faint">Older changes are not shown.</p>}
          </section>
        </>
      )}
    </>
  )
}

const LAST_COUNT = '5'

/** The member's last entries. */
function LastEntries({ partyLocator }: { partyLocator: string }) {
  const loaded = useData<Page<ListedLogEntry>>(['log', 'list'], { partyLocator, limit: LAST_COUNT })
  const items = loaded.data?.items ?? []
  return (
    <section aria-labelledby="last">
      <h2 id="last">Last entries</h2>
      <State of={loaded} />
      {loaded.data !== null && items.length === 0 && (
        <p class="faint">
          The log has no entry for this party locator. Locators are compared character by character.
        </p>
      )}
      {items.length > 0 && (
        <>
          <Entries label="Last entries" of={items} ofOneMember />
          <p>
            <a href={hrefOf(['log'], { partyLocator })}>All entries for this member</a>
          </p>
        </>
      )}
    </section>
  )
}

function Preferences({ of }: { of: StoredPreferences }) {
  return (
    <dl class="facts">
      <Fact name="Preferred channel">{of.preferredChannel}</Fact>
      <Fact name="Opted out of">
        <Value of={listed(of)} />
      </Fact>
      <Fact name="Email">
        <Value of={of.email} />
      </Fact>
      <Fact name="Phone">
        <Value of={of.phone} />
      </Fact>
    </dl>
  )
}

/** A value after a change, and the value before it if that differs. */
function Change({ before, after }: { before: string | null | undefined; after: string | null }) {
  const was = before ?? null
  return (
    <>
      <Value of={after} />
      {was !== null && was !== after && (
        <span class="was">
          {' '}
          was <Value of={was} />
        </span>
      )}
    </>
  )
}

function listed({ optedOutEvents }: StoredPreferences): string {
  return optedOutEvents.join(', ')
}
