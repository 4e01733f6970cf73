const { apply, defineProperty } = Reflect

/** Returns the functions of a module, by name. The first call of any of them loads the module. */
export function lazily<M extends object>(load: () => M): M {
  const call = (name: string, args: unknown[]) => apply(load()[name as keyof M] as () => unknown, undefined, args)
  const get = (_: object, name: string) => ({ [name]: (...args: unknown[]) => call(name, args) })[name]
  return new Proxy({} as M, { get } as ProxyHandler<M>)
}

/** Defines a member of a module as a property of an object. The first read loads the module, and leaves an ordinary property with the value. */
export function defineLazily<N extends string>(
  object: Partial<Record<N, unknown>>,
  name: N,
  load: () => Record<N, unknown>,
): void {
  const property = (attributes: PropertyDescriptor) => ({ ...attributes, enumerable: true, configurable: true })
  const define = (value: unknown) => defineProperty(object, name, property({ value, writable: true }))
  const get = () => {
    define(load()[name])
    return object[name]
  }
  defineProperty(object, name, property({ get, set: define }))
}
