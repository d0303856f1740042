import t from 'tap'
import {
  describeOptOut,
  describePreferenceChange,
} from '../../../../src/service/decide/party/preference-changes.ts'
import type { PreferenceChange, StoredPreferences } from '../../../../src/service/decide/party/preferences.ts'

const wanting = (...optedOutEvents: string[]): StoredPreferences => ({
  ...{ email: null, phone: null, preferredChannel: 'EMAIL', optedOutEvents },
})
const change = (changedAt: string, before: StoredPreferences | null, after: StoredPreferences) =>
  ({ changedAt, changedBy: null, before, after }) satisfies PreferenceChange

t.test('an opt-out dates from the last change that brought it', async (t) => {
  const [none, paid, both] = [wanting(), wanting('paid'), wanting('paid', 'void')]
  const changes = [change('5', both, both), change('4', paid, both), change('3', none, paid)]
  const before = [change('2', paid, none), change('1', null, paid)]
  t.equal(describeOptOut([...changes, ...before], 'paid'), 'since 3', 'not the one that was taken back')
  t.equal(describeOptOut(changes, 'void'), 'since 4')
  t.equal(
    describeOptOut(changes.slice(0, 2), 'paid'),
    'since before 4',
    'older than the changes that are known',
  )
  t.equal(
    describeOptOut([change('2', wanting('paid'), wanting('Paid ')), change('1', none, paid)], 'Paid '),
    'since 1',
  )
  t.match(
    describeOptOut([{ ...change('2', none, paid), isUnreadable: true }], 'paid'),
    /^since .*, or before$/,
  )
  t.equal(describeOptOut([], 'paid'), 'since before changes were recorded')
})

t.test('a change is described by what it changed, and by whom', async (t) => {
  const opted = change('1', wanting(), wanting('paid'))
  t.equal(describePreferenceChange({ ...opted, changedBy: 'ada' }), 'Opted out of paid, by ada')
  t.equal(describePreferenceChange({ ...opted, before: opted.after }), 'Saved without a change')
  t.match(
    describePreferenceChange({ ...opted, isUnreadable: true }),
    /^Changed in a form that .* cannot read$/,
  )
  t.equal(describePreferenceChange(change('1', wanting('paid'), wanting('Paid '))), 'Saved without a change')
})
