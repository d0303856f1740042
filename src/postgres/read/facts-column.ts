import { z } from 'zod'
import type { RecordedFacts } from '../../core/decision/facts.ts'

/** Facts as they are stored. They are not looked into: a replay reads millions of them, and old ones may have other keys. */
export const factsColumn = z.custom<RecordedFacts>((facts) => typeof facts === 'object' && facts !== null)
