import type { MetricsNeeds } from '../../../src/service/telemetry/registry.ts'
import { ADDRESS_PLACES } from '../build.ts'

/** The needs of the metrics of an idle replica. */
export function someMetricsNeeds(): Omit<MetricsNeeds, 'topics' | 'rules' | 'backlog'> {
  return {
    version: '1.2.3',
    ruleTableRevision: 'abc',
    envelopeMapRevision: 'map',
    groupId: 'ours',
    eventTypes: new Set(['claim.paid', 'claim.rejected']),
    isInOtherCase: (eventType) => eventType === 'Claim.Paid',
    givesReason: (eventType) => eventType === 'claim.rejected',
    addressPlaces: ADDRESS_PLACES,
    attemptCountMax: 3,
    connections: () => [],
    blocked: () => [],
    clockAheadMs: () => 0,
    notices: () => [],
    foreign: () => [],
    isPolicyAdministrationDown: () => false,
    heldTopics: async () => [],
  }
}
