import { partitionsCheck } from './blocked-partitions.ts'
import { brokerCheck, topicsCheck } from './broker.ts'
import { clocksCheck } from './clocks.ts'
import { collectorCheck } from './collector.ts'
import { committedOffsetsCheck } from './committed-offsets.ts'
import { consumerGroupCheck } from './consumer-group.ts'
import { databaseCheck, eventIdsCheck, holdCheck, logCheck, roleCheck, schemaCheck } from './database.ts'
import { identityProviderCheck, tokenCheck } from './identity-provider.ts'
import { envelopeMapCheck } from './newest-messages.ts'
import { policyAdministrationCheck } from './policy-administration.ts'
import type { Check } from './remedies.ts'
import { replicasCheck } from './replicas.ts'
import { ruleFilesCheck } from './rule-files.ts'
import { transportsCheck } from './transports.ts'

/** In the order in which they run. */
export const CHECKS: readonly Check[] = [
  ruleFilesCheck,
  brokerCheck,
  topicsCheck,
  envelopeMapCheck,
  consumerGroupCheck,
  databaseCheck,
  schemaCheck,
  roleCheck,
  replicasCheck,
  committedOffsetsCheck,
  partitionsCheck,
  logCheck,
  eventIdsCheck,
  holdCheck,
  policyAdministrationCheck,
  transportsCheck,
  identityProviderCheck,
  clocksCheck,
  collectorCheck,
  tokenCheck,
]
