/** Ways to reach a member; the specification's NotificationChannel. */
export const CHANNELS = ['EMAIL', 'SMS', 'IN_APP'] as const
export type Channel = (typeof CHANNELS)[number]

/** Used for a party without preferences (specification, dispatch rule 2). */
export const DEFAULT_CHANNEL: Channel = 'EMAIL'
