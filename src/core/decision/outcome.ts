/** What a rule does with an event. */
export const OUTCOMES = ['SEND', 'SKIP', 'FAIL'] as const
export type Outcome = (typeof OUTCOMES)[number]
