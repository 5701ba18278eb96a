#!/bin/php -n
<?php
// SPDX-License-Identifier: MIT

function spin($n) {
    for ($i = 0; $i < $n; $i++);
}

class Thing {
    function twice() { spin(400); }
    static function once() { spin(200); }
    static function order($a, $b) { spin(200); return 0; }
    function sorts() { $a = [2, 1]; usort($a, ['Thing', 'order']); }
}

function main() {
    $thing = new Thing;
    while (true) {
        $thing->twice();
        Thing::once();
        $thing->sorts();
    }
}

echo "ready it\n";
file_get_contents('go');
main();
