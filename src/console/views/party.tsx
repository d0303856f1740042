import type { ListedLogEntry } from '../../core/log/log-entry.ts'
import type { Page } from '../../core/log/log-page.ts'
import type { PreferenceHistory, StoredPreferences } from '../../core/party/preferences.ts'
import { Entries } from '../entries.tsx'
import { Table, timeCell } from '../list.tsx'
import { Facts, Field, filledIn, State, Title, Value } from '../parts.tsx'
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
        <form class="toolbar" onSubmit={search}>
          <Field label="Party locator" name="party" defaultValue={partyLocator ?? ''} maxLength={255} />
          <button type="submit">Look up</button>
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
            <Preferences of={data.preferences} />
            {data.unknownEventTypes.length > 0 && (
              <p>
                No template, rule or logged event has the type{' '}
                <Value of={data.unknownEventTypes.join(', ')} />: if it is misspelt, this opt-out has no
                effect.
              </p>
            )}
          </section>
          <LastEntries partyLocator={partyLocator} />
          <h2>History</h2>
          {data.changes.length === 0 ? (
            <p class="faint">No changes recorded.</p>
          ) : (
            <Changes of={data.changes} />
          )}
          {data.isMore && <p class="faint">Older changes are not shown.</p>}
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
    <>
      <h2>Last entries</h2>
      <State of={loaded} />
      {loaded.data !== null && items.length === 0 && (
        <p class="faint">
          The log has no entry for this party locator. Locators are compared character by character.
        </p>
      )}
      {items.length > 0 && (
        <>
          <Entries label="Last entries" of={items} />
          <p>
            <a href={hrefOf(['log'], { partyLocator })}>All entries for this member</a>
          </p>
        </>
      )}
    </>
  )
}

function Preferences({ of }: { of: StoredPreferences | null }) {
  if (of === null) {
    return (
      <p>
        No preferences are stored for this member. The rules take that as preferring EMAIL and opting out of
        nothing.
      </p>
    )
  }
  return (
    <Facts
      of={[
        ['Preferred channel', of.preferredChannel],
        ['Opted out of', <Value of={listed(of)} />],
        ['Email', <Value of={of.email} />],
        ['Phone', <Value of={of.phone} />],
      ]}
    />
  )
}

function Changes({ of }: { of: PreferenceHistory['changes'] }) {
  return (
    <Table
      label="Changes to preferences"
      columns={[['Time', 'short'], 'Changed by', ['Channel', 'short'], 'Opted out of', 'Email', 'Phone']}
      rows={of.map(({ changedAt, changedBy, before, after }) => ({
        key: changedAt,
        cells: [
          timeCell(changedAt),
          changedBy,
          <Change before={before?.preferredChannel} after={after.preferredChannel} />,
          <Change before={before && listed(before)} after={listed(after)} />,
          <Change before={before?.email} after={after.email} />,
          <Change before={before?.phone} after={after.phone} />,
        ],
      }))}
    />
  )
}

/** A value after a change, and the value before it if that differs. */
function Change({ before, after }: { before: string | null | undefined; after: string | null }) {
  const was = before ?? null
  return (
    <>
      <Value of={after} />
      {was !== null && was !== after && (
        <div class="faint">
          was <Value of={was} />
        </div>
      )}
    </>
  )
}

function listed({ optedOutEvents }: StoredPreferences): string {
  return optedOutEvents.join(', ')
}
