#!/bin/ruby --disable-gems
# SPDX-License-Identifier: MIT

def spin(n)
  i = 0
  i += 1 while i < n
end

class Thing
  def twice() spin(400) end
  def self.once() spin(200) end
  def sorts() [2, 1].sort_by { |x| spin(100) } end
end

def main()
  thing = Thing.new
  while true do
    thing.twice
    Thing.once
    thing.sorts
  end
end

puts 'ready it'
$stdout.flush
File.read('go')
main
