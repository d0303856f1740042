import { kindOf } from './change-kinds.ts'
import type { Change } from './diff.ts'

/** Changes that `rules diff --fail-on` can forbid. */
export const DIRECTIONS = {
  'new-send': (change: Change) => kindOf(change) === 'newly sent',
  'lost-send': (change: Change) => kindOf(change) === 'no longer sent',
} as const
