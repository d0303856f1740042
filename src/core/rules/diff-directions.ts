import type { Change } from './diff.ts'
import { kindOf } from './diff-kinds.ts'

/** Changes that `rules diff --fail-on` can forbid. */
export const DIRECTIONS = {
  'new-send': (change: Change) => kindOf(change) === 'newly sent',
  'lost-send': (change: Change) => kindOf(change) === 'no longer sent',
} as const
