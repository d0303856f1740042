import type { ReplicaState } from '../../../src/service/telemetry/gauges.ts'
import type { MetricSources } from '../../../src/service/telemetry/registry.ts'
import { ADDRESS_PLACES } from '../build.ts'

export const IDLE: ReplicaState = {
  connections: [],
  blocked: [],
  foreign: [],
  notices: [],
  clockAheadMs: 0,
  isPolicyAdministrationDown: false,
}

/** The sources of the metrics of an idle replica. */
export function metricSources(): Omit<MetricSources, 'topics' | 'rules' | 'backlog'> {
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
    heldTopics: async () => [],
    readState: () => IDLE,
  }
}
