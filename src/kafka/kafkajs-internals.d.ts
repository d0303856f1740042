// Types of the untyped modules of kafkajs 2.2.4 that we use or patch, and of the untyped codec.

declare module 'kafkajs/src/network/requestQueue/index.js' {
  export default class RequestQueue {
    readonly pending: readonly unknown[]
    scheduleCheckPendingRequests(): void
  }
}

declare module 'kafkajs/src/protocol/recordBatch/crc32C/index.js' {
  export default function crc32c(bytes: Uint8Array): number
}

declare module 'kafkajs/src/protocol/decoder.js' {
  export default class Decoder {
    constructor(bytes: Buffer)
    readInt16(): number
    readInt32(): number
    readInt64(): bigint
    readString(): string
    /** Bytes with a length before them; null if the length is -1. */
    readBytes(byteLength?: number): Buffer | null
    readArray<T>(read: (decoder: Decoder) => T): T[]
    readInt8(): number
    readUVarIntString(): string | null
    readUVarIntArray<T>(read: (decoder: Decoder) => T): T[] | null
    readTaggedFields(): unknown
  }
}

declare module 'kafkajs/src/protocol/encoder.js' {
  export default class Encoder {
    readonly buffer: Buffer
    size(): number
    writeInt16(value: number): this
    writeInt32(value: number): this
    writeString(value: string): this
    writeEncoder(value: Encoder): this
    writeBoolean(value: boolean): this
    writeUVarInt(value: number): this
    writeUVarIntString(value: string | null): this
  }
}

declare module 'kafkajs/src/protocol/error.js' {
  const errors: {
    createErrorFromCode(code: number): Error & { readonly type: string }
    readonly errorCodes: readonly { readonly type: string; readonly code: number; readonly message: string }[]
  }
  export default errors
}

declare module 'kafkajs/src/broker/saslAuthenticator/*' {
  import type { AuthenticationProviderArgs, Authenticator } from 'kafkajs'

  export default function provider(login: {
    readonly username: string
    readonly password: string
  }): (args: AuthenticationProviderArgs) => Authenticator
}

declare module 'kafkajs/src/protocol/sasl/oauthBearer/index.js' {
  import type { SaslAuthenticationRequest } from 'kafkajs'

  interface Token {
    readonly value: string
    readonly extensions: Readonly<Record<string, string>>
  }
  const sasl: { request(options: object, token: Token): Promise<SaslAuthenticationRequest> }
  export default sasl
}

declare module 'kafkajs/src/protocol/requests/index.js' {
  interface Response {
    decode(bytes: Buffer): Promise<unknown>
    parse(decoded: never): Promise<unknown>
  }
  type Definition = {
    readonly versions: readonly string[]
    protocol(version: { version: string }): (request: object) => { response: Response }
  }
  const requests: { readonly requests: { readonly Fetch: Definition; readonly Metadata: Definition } }
  export default requests
}

declare module 'kafkajs/src/consumer/consumerGroup.js' {
  import type { Batch, Broker } from 'kafkajs'
  import type OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js'

  export default class ConsumerGroup {
    readonly cluster: {
      refreshMetadata(): Promise<void>
      findGroupCoordinator(of: { groupId: string }): Promise<Broker>
    }
    readonly groupId: string
    readonly sessionTimeout: number
    /** In ms. */
    readonly maxWaitTime: number
    /** Time of the last answered heartbeat, in ms since 1970; before the first one, of the creation. */
    readonly lastRequest: number
    /** Null before the first join. */
    readonly generationId: number | null
    readonly offsetManager: OffsetManager | null
    /** Null in no group. */
    memberId: string | null
    coordinator: Broker | null
    fetch(nodeId: string): Promise<Batch[]>
    heartbeat(options: { readonly interval: number }): Promise<void>
    joinAndSync(): Promise<void>
    leave(): Promise<void>
  }
}

declare module 'kafkajs/src/consumer/offsetManager/index.js' {
  import type { Broker } from 'kafkajs'

  /** The next fetch offset of each partition of one membership. */
  export default class OffsetManager {
    coordinator: Broker | null
    readonly memberAssignment: Readonly<Record<string, readonly number[]>>
    committedOffsets(): Record<string, Record<number, string>>
    resolveOffsets(): Promise<void>
  }
}

declare module 'kafkajs-snappy' {
  const codec: () => {
    compress(encoder: { buffer: Buffer }): Promise<Buffer>
    decompress(buffer: Buffer): Promise<Buffer>
  }
  export default codec
}
