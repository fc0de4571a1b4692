/** Where variables of the cluster are read; the embedded server gives one. */
export interface VariableSource {
  /** The items of a variable, or undefined when there is none. */
  get(namespace: string, path: string): Readonly<Record<string, string>> | undefined;
  /** Told after each change of any variable. */
  onChange(listener: () => void): Disposable;
}
