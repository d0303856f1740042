/** How brokers are reached. */
export interface BrokerConnection {
  /** Each `host:port`. */
  readonly brokers: readonly string[]
  /** TLS, PEM texts in it; without `ca` the authorities that Node knows are good. Null: plain text. */
  readonly ssl: { readonly ca?: string; readonly cert?: string; readonly key?: string } | null
  readonly sasl: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
    readonly username: string
    readonly password: string
  } | null
}
